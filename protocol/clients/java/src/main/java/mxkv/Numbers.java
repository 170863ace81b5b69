package mxkv;

import java.math.BigInteger;
import java.util.Optional;

/** Of the values of a range those that are numbers. */
public record Numbers(long items, long numeric, BigInteger total, Optional<BigInteger> least, Optional<BigInteger> greatest) {}
