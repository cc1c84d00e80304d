"""The live screen of ``kcli top``, on Textual. Screens show snapshots; ``feed`` has the thread that owns the clients.

Every text from brokers reaches the terminal by ``cells.fitted``, which makes control characters visible.
"""
