"""Methods that predict where a vehicle will drive: networks that learn from recorded requests and predict trajectories.

They take a `dataset.TrajectoryDataset`; positions are in metres in the agent's frame at T = 0, x forward; T steps of
0.2 s. `fitting` has them as values of `methods.contract.Method`:

- `cloning`, behavioural cloning: MobileNetV2 sees a feature map, and a GRU predicts, step by step, where the vehicle
  goes next (Shifts 1.0, Malinin et al. 2021, appendix E.4).
- `imitative`, a deep imitative model: the same encoder before an autoregressive flow from noise to positions, which
  feeds each position it generates back into its GRU (Rhinehart et al., ICLR 2020). Both give plans scored under every
  member: robust imitative planning chooses among them.
- `vector`: tracks and polylines as tokens, D queries that attend to them and become a mixture of trajectories, trained
  on the cNLL that is scored; an ensemble is the mixture of all modes of its networks. The encoder of polylines follows
  VectorNet (Gao et al., CVPR 2020), the queries Scene Transformer's and MTR's idea of learnt modes (Ngiam et al., ICLR
  2022; Shi et al., NeurIPS 2022), much smaller.
"""
