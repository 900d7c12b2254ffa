"""Networks whose members are trained one by one: FT-Transformer, TabM, and dropout drawn from a fitted network."""
