.python <- new.env(parent = emptyenv())

kakuran <- function() {
  if (is.null(.python$kakuran)) {
    .python$kakuran <- tryCatch(
      reticulate::import("kakuran", convert = FALSE),
      error = function(error) {
        stop(
          "Python's kakuran cannot be loaded: ", conditionMessage(error), "\n",
          "Install it with reticulate::py_install(\"kakuran[regress]\", pip = TRUE), ",
          "or name the Python that has it in RETICULATE_PYTHON.",
          call. = FALSE
        )
      }
    )
  }
  .python$kakuran
}

perturb <- function(data, schema, k, output = NULL, ..., certainty = NULL, ledger = NULL, force = FALSE) {
  if (is.character(schema)) schema <- kakuran()$Schema$load(path.expand(schema))
  originals <- if (is.data.frame(data)) as_arrow(data) else kakuran()$open_source(path.expand(data))
  plan <- kakuran()$calibrate(
    schema, data = originals, k = k, certainty = certainty, calibration = "worst-case", ...
  )
  if (!is.null(ledger)) ledger <- path.expand(ledger)
  if (!is.null(output)) {
    kakuran()$perturb_file(originals, path.expand(output), plan, ledger = ledger, force = force)
    return(read_release(output))
  }
  if (!is.data.frame(data)) stop("say with output = where the release of a file is to be written", call. = FALSE)
  as_release(kakuran()$perturb(originals, plan, ledger = ledger))
}

read_release <- function(path) {
  as_release(kakuran()$read_release(path.expand(path)))
}

# A release is its perturbed records, and remembers the Python object that can be asked about the true ones.
as_release <- function(asked) {
  records <- as_data_frame(asked$table)
  structure(records, release = asked, class = c("kakuran_release", "data.frame"))
}

print.kakuran_release <- function(x, ...) {
  asked <- attr(x, "release")
  if (!is.null(asked)) {
    cat(reticulate::py_to_r(asked$`__repr__`()), "\n", sep = "")
    cat(promised(asked), sep = "\n")
    cat("The records are perturbed: ask crosstab(), estimate() or regress() what was true.\n")
  }
  print(utils::head(as.data.frame(unclass(x), optional = TRUE), 10), ...)
  invisible(x)
}

# How surely k holds, and both epsilons with the attacker that each is against.
promised <- function(asked) {
  value <- reticulate::py_to_r
  k <- format(value(asked$k))
  certainty <- value(asked$plan$certainty)
  surely <- if (is.null(certainty)) "in every draw" else paste("with certainty", format(certainty, digits = 10))
  epsilon <- value(asked$plan$guaranteed_epsilon)
  central <- if (value(asked$manifest$is_central)) value(asked$manifest$central())
  shown <- function(number) if (is.null(number)) "none" else paste("\u03b5 =", format(number, digits = 3))
  c(
    paste0("k = ", k, " ", surely),
    paste0("against an attacker who knows which record is yours: ", shown(epsilon)),
    paste0("against one who sees the whole shuffled release and knows everybody else: ", shown(central))
  )
}

# What can be asked: a release that was read, all of its rows, or the name of a file that is too large to be read.
asked_of <- function(release) {
  if (is.character(release)) return(kakuran()$read_release(path.expand(release)))
  asked <- attr(release, "release")
  if (is.null(asked)) stop("give what read_release() or perturb() made, or the name of its file", call. = FALSE)
  n <- reticulate::py_to_r(asked$n)
  if (nrow(release) != n) {
    stop(
      "the release has ", n, " records, and these are ", nrow(release),
      ": choose among the true ones with where = instead",
      call. = FALSE
    )
  }
  asked
}
