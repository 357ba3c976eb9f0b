"""What a memory is: claims, merge, index, accounts. Pure values: no git, no files, no clock."""
