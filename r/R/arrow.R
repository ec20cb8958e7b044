# Tables cross between R and Python column by column, as plain lists: this needs neither pandas nor the R package arrow,
# and works with every version of NumPy and reticulate.

as_arrow <- function(data) {
  pyarrow <- reticulate::import("pyarrow", convert = FALSE)
  pyarrow$table(lapply(as.list(data), as_arrow_column, pyarrow))
}

as_arrow_column <- function(column, pyarrow) {
  is_date <- inherits(column, "Date")
  if (is_date || is.factor(column) || inherits(column, "POSIXt")) {
    column <- as.character(column)
  } else if (is.double(column) && is_whole(column)) {
    column <- as.integer(column)  # R holds whole numbers as doubles, and a category 1 is not called 1.0
  }
  values <- unname(as.list(column))
  values[is.na(column)] <- list(NULL)
  made <- pyarrow$array(values)
  if (is_date) made$cast(pyarrow$date32()) else made
}

is_whole <- function(column) {
  known <- column[!is.na(column)]
  all(known == trunc(known) & abs(known) <= .Machine$integer.max)
}

as_data_frame <- function(table) {
  names <- reticulate::py_to_r(table$column_names)
  columns <- lapply(seq_along(names), function(place) as_r_column(table$column(place - 1L)))
  made <- stats::setNames(columns, names)
  as.data.frame(made, optional = TRUE, stringsAsFactors = FALSE)
}

as_r_column <- function(column) {
  kind <- reticulate::py_to_r(column$type$`__str__`())
  is_date <- startsWith(kind, "date")
  if (is_date) column <- column$cast("string")
  values <- reticulate::py_to_r(column$to_pylist())
  if (is.list(values)) {
    values[vapply(values, is.null, logical(1))] <- NA
    values <- unlist(values)
  }
  if (is.null(values)) values <- if (grepl("string", kind)) character() else numeric()
  if (is_date) as.Date(values) else values
}
