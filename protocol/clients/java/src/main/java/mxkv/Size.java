package mxkv;

import java.util.OptionalDouble;

/**
 * How many items, and the bytes of their keys and values. {@code within} is how far off an estimate may be, in per cent, 19 times of
 * 20; empty where it is exact.
 */
public record Size(long items, long bytes, OptionalDouble within) {}
