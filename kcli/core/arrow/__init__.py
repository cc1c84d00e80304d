"""Arrow data through its C data interface and PyCapsule interface, for any library that offers them; imports none.

``structs`` are the C structures; ``foreign`` reads what another library hands out, ``record_columns`` makes of it the
columns that the kernels encode.
"""
