library(testthat)
library(kakuran)

test_check("kakuran")
