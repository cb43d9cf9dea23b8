"""Wrong variants of the package, and the command that shows that the suite catches each."""
