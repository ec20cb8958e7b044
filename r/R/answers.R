crosstab <- function(release, ..., where = NULL, bins = NULL, totals = FALSE, percent = NULL, method = "auto",
                     level = 0.9, population = FALSE) {
  answer <- asked_of(release)$crosstab(
    ...,
    where = where, bins = as_bins(bins), totals = totals, percent = percent, method = method, level = level,
    about = about(population)
  )
  as_data_frame(answer$to_arrow())
}

estimate <- function(release, statistic = c("mean", "variance", "quantile", "share", "correlation"), of, by = NULL,
                     where = NULL, bins = NULL, level = 0.9, population = FALSE, ...) {
  statistic <- match.arg(statistic)
  question <- asked_of(release)[[statistic]]
  options <- list(
    by = if (!is.null(by)) as.list(by), where = where, bins = as_bins(bins), level = level,
    about = about(population), ...
  )
  answer <- do.call(question, c(unname(as.list(of)), options))
  as_data_frame(answer$to_arrow())
}

regress <- function(release, formula, family = NULL, level = 0.9, population = TRUE, ...) {
  if (inherits(formula, "formula")) formula <- paste(deparse(formula), collapse = " ")
  answer <- asked_of(release)$regress(formula, family = family, level = level, about = about(population), ...)
  as_data_frame(answer$to_arrow())
}

synthesise <- function(release, n = NULL, copies = 1) {
  if (!is.null(n)) n <- as.integer(n)
  as_data_frame(asked_of(release)$synthesise(n, as.integer(copies))$to_arrow())
}

about <- function(population) {
  if (population) "population" else "table"
}

# list(age = 12) cuts into so many cells, list(age = c(18, 25, 40)) where they begin.
as_bins <- function(bins) {
  if (is.null(bins)) return(NULL)
  lapply(bins, function(cells) if (length(cells) == 1) as.integer(cells) else as.list(cells))
}
