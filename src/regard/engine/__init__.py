"""Engine: a model as graphs that run without torch. Written by `write`, read and run by `runtime` and `steps`."""
