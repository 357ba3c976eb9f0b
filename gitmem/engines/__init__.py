"""Who thinks: values in, values out."""
