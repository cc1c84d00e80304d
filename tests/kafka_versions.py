LACKS = {}
MORE = {}
