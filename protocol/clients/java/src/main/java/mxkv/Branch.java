package mxkv;

import java.util.Optional;

/** The keys that share a prefix up to a delimiter; without a prefix those that have no delimiter. */
public record Branch(Optional<Key> prefix, long items, long bytes) {}
