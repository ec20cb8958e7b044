"""Where records come from: files, folders, databases, frames; all read the same way, batch by batch."""
