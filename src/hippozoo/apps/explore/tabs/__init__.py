"""The tabs of the explorer, in Panel and Bokeh: each draws a view of `hippozoo.apps.explore.views`."""
