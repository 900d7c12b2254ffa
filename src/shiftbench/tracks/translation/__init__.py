"""Translation (Malinin et al. 2021), and other generated text: sentences that no training text looks like."""
