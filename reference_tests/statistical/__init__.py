"""Every random part of the spec, of the engine and of the drawing itself, counted against its exact law."""
