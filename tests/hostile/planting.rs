//! Somebody plants things at the path, in a folder that all may write to.
