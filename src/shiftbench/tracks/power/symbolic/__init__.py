"""An ensemble of networks with the structure of ship physics: the "Symbolic" of Shifts 2.0."""
