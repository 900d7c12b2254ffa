"""Methods that predict where a vehicle will drive: networks that learn from recorded requests and predict trajectories.

`cloning` and `imitative` see feature maps and give plans scored under every member (robust imitative planning chooses
among them); `vector` sees polylines and tracks and gives a mixture. Each has `Settings`, `fit` and `predict`, as the
methods of tables have, but takes a `dataset.TrajectoryDataset`. `presets` names whole comparisons.

Positions are in metres in the agent's frame at T = 0, x forward; T steps of 0.2 s.
"""
