package mxkv;

import java.io.IOException;
import java.io.InputStream;

/**
 * The operations of a Batch, but each is executed by itself, whatever becomes of the others: the Outcome of one that fails has its
 * error. Other clients' requests may come in between.
 */
public final class Pipeline extends Batch {
  private static final int BYTES_AT_ONCE = 1 << 16; // before the first reply is read, so that both sides never block
  private static final int MOST_AT_ONCE = 1000; // operations

  private MxkvException.Answer refusal;

  Pipeline() {}

  void execute(Pool pool) {
    for (int first = 0; first < operations.size(); ) {
      int from = first;
      int end = pieceFrom(first);
      byte[] lines = Lines.joined(operations.subList(from, end).stream().map(Operation::line).toArray(byte[][]::new));
      pool.ask(lines, Pool.Repeat.NEVER, in -> readPiece(in, from, end));
      first = end;
    }
    if (refusal != null) {
      throw refusal;
    }
  }

  private int pieceFrom(int first) {
    int end = first;
    int size = 0;
    do {
      size += operations.get(end++).line().length;
    } while (end < operations.size() && end - first < MOST_AT_ONCE && size + operations.get(end).line().length <= BYTES_AT_ONCE);
    return end;
  }

  private Void readPiece(InputStream in, int first, int end) throws IOException {
    for (int number = first; number < end; ++number) {
      Operation<?> operation = operations.get(number);
      try {
        Reply reply = Reply.read(in);
        boolean mayMiss = operation.line()[1] == 'd'; // a delete of nothing is no failure: its outcome is false
        MxkvException.Answer failure = reply.code().equals("NF") && mayMiss ? null : MxkvException.ofCode(reply.code());
        if (failure == null) {
          operation.take(reply);
        } else {
          operation.outcome().fail(failure.at(number));
        }
      } catch (MxkvException.Answer answer) {
        operation.outcome().fail(answer.at(number));
        refusal = refusal == null ? answer : refusal;
      }
    }
    return null;
  }
}
