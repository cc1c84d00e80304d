"""What a task does: a module for each kernel, with ``run(settings, task, context)``. None imports pyspark."""
