"""Numbers about errors and uncertainty: ranking, retention, detection, intervals; the registry of metrics."""
