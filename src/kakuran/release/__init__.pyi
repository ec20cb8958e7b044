from .files import (
    MATRIX_KEY as MATRIX_KEY,
    Manifest as Manifest,
    beside as beside,
    check_folder as check_folder,
    check_table as check_table,
    check_target as check_target,
    manifest_path as manifest_path,
    neutral as neutral,
    read_manifest as read_manifest,
    released_source as released_source,
    targets as targets,
    write_answer as write_answer,
    write_records as write_records,
    write_table as write_table,
)
from .perturbing import (
    perturb as perturb,
    perturb_file as perturb_file,
    perturb_on_spark as perturb_on_spark,
)
from .release import (
    Release as Release,
    read_release as read_release,
)
