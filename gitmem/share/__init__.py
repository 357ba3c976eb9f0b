"""Team to team: fetch, merge, push."""
