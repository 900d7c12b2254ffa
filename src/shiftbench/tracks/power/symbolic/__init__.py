"""The ensemble of networks made of ship physics: the "Symbolic" of Shifts 2.0."""
