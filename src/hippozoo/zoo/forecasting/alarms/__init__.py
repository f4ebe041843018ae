"""Alarms: when a stream does what its forecast did not expect, how strange that is, and since when."""

from hippozoo.zoo.forecasting.alarms.detector import Detector, DetectorState, Surprise

__all__ = ["Detector", "DetectorState", "Surprise"]
