"""Which tests vouch for each public function of the spec and the engine, and the proof that they can fail."""
