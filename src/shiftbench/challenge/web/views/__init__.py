"""What pages show and what their forms do, as plain functions of a visit."""
