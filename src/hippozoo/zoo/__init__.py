"""The members of the zoo, side by side: each is one folder and knows only what lies below it.

``hippozoo.zoo.volterra``, ``.salience``, ``.associative``, ``.multiscale`` and ``.forecasting`` are imported by name;
importing this package loads none of them.
"""
