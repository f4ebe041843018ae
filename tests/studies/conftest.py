from studies.toy_shop import toys as toys

collect_ignore = ["toys"]  # experiments, no tests; one of them cannot even be imported
