"""Ways to run the tasks of a job; the one on Spark is ``kcli.pipeline.spark.runner``."""
