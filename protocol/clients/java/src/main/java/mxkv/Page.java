package mxkv;

import java.util.List;
import java.util.Optional;

/** A part of a range; {@code cursor} is where the next one begins, empty if this was the last. */
public record Page(List<Item> items, Optional<String> cursor) {}
