"""What each job of ``kcli pipeline`` does where it is started: it plans the tasks, has a runner do them, and sums up. No
click; what a command shows and asks is its observer's. What a task does is in ``kernels``.
"""
