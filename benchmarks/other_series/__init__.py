"""Series bundled with packages: our forecasts beside AutoETS, AutoTheta, AutoARIMA and a season repeated."""
