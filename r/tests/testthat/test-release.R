# What Python made and answered lies in a folder: tests/test_r.py of the Python package puts it there.
folder <- Sys.getenv("KAKURAN_MADE_IN_PYTHON")
made <- function(name) file.path(folder, name)
needs_python <- function() skip_if(folder == "", "KAKURAN_MADE_IN_PYTHON names no folder")
answered <- function(name) utils::read.csv(made(name), check.names = FALSE)

test_that("a release made in Python is read, with its missing values", {
  needs_python()
  release <- read_release(made("out.parquet"))
  expect_s3_class(release, "data.frame")
  expect_equal(nrow(release), 2000)
  expect_true(all(c("sex", "age", "job", "region") %in% names(release)))
  expect_true(anyNA(release$job))
  expect_type(release$job, "character")
  expect_output(print(release), "k = 10")
})

test_that("every answer is the data frame that Python gives", {
  needs_python()
  release <- read_release(made("out.parquet"))
  expect_equal(crosstab(release, "job", "sex"), answered("crosstab.csv"))
  expect_equal(estimate(release, "mean", "age", by = "sex"), answered("mean.csv"))
  expect_equal(estimate(release, "share", "job == 'care'", where = "age < 40"), answered("share.csv"))
  expect_equal(estimate(release, "correlation", c("job", "sex")), answered("correlation.csv"))
  expect_equal(estimate(release, "quantile", "age", part = 0.25), answered("quantile.csv"))
  expect_equal(regress(release, age ~ sex), answered("regress.csv"))
})

test_that("a file is asked without being read", {
  needs_python()
  expect_equal(crosstab(made("out.parquet"), "job", "sex"), answered("crosstab.csv"))
  expect_equal(crosstab(made("out.parquet"), "age", bins = list(age = c(20, 40)))$age[1], answered("bins.csv")$age[1])
})

test_that("some of a release's rows are not asked", {
  needs_python()
  release <- read_release(made("out.parquet"))
  expect_error(crosstab(release[release$sex %in% "female", ], "job"), "where =|read_release")
  expect_error(crosstab(data.frame(job = "care"), "job"), "read_release")
  expect_error(crosstab(release, "wage"), "wage")
})

test_that("synthetic records are complete and as many as are asked for", {
  needs_python()
  release <- read_release(made("out.parquet"))
  records <- synthesise(release, 300)
  expect_equal(dim(records), c(300, 4))
  expect_false(anyNA(records))
  expect_equal(nrow(synthesise(release, 100, copies = 2)), 200)
})

test_that("a data frame is perturbed, factors, whole numbers and all, into a release that Python reads", {
  needs_python()
  people <- utils::read.csv(made("people.csv"), stringsAsFactors = TRUE)
  people$age <- as.double(people$age)
  output <- tempfile(fileext = ".parquet")
  release <- perturb(people, made("schema.toml"), k = 10, output = output)
  expect_equal(nrow(release), nrow(people))
  expect_false(identical(as.character(people$job), release$job))
  expect_equal(nrow(read_release(output)), nrow(people))
  expect_equal(sum(crosstab(release, "sex")[["count"]]), nrow(people))
  expect_error(perturb(people, made("schema.toml"), k = 10, output = output), "exists already")
  expect_equal(nrow(perturb(people, made("schema.toml"), k = 10)), nrow(people))
  expect_error(perturb(made("people.csv"), made("schema.toml"), k = 10), "output =")
})

test_that("a release says how surely its k holds, and both epsilons with whom each is against", {
  needs_python()
  usual <- read_release(made("out.parquet"))
  expect_output(print(usual), "k = 10 in every draw")
  expect_output(print(usual), "against an attacker who knows which record is yours: ")
  expect_output(print(usual), "against one who sees the whole shuffled release and knows everybody else: ")
  people <- utils::read.csv(made("people.csv"))
  certain <- perturb(people, made("schema.toml"), k = 10, certainty = 0.999999)
  expect_output(print(certain), "k = 10 with certainty 0.999999")
  expect_error(perturb(people, made("schema.toml"), k = 10, certainty = 1.2), "certainty must lie above")
})

test_that("missing values reach Python as missing, dates as dates, and both come back", {
  needs_python()
  data <- data.frame(
    name = c("a", NA, "NA"), day = as.Date(c("2026-01-31", NA, "1999-12-31")), much = c(1.5, NA, 2), many = c(1, 2, NA)
  )
  back <- kakuran:::as_data_frame(kakuran:::as_arrow(data))
  expect_equal(back, data)
  expect_type(back$many, "integer")
})
