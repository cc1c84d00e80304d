"""Jobs over whole topics that scale out: planned on the driver, run by kernels in a process, in several, or on Spark."""
