import net.spy.memcached.BinaryConnectionFactory;
import net.spy.memcached.ConnectionFactory;

/** The same by the binary protocol, in which several gets become quiet ones with a noop behind. */
class SpymemcachedBinaryTest extends SpymemcachedTest {
  @Override
  ConnectionFactory factory() {
    return new BinaryConnectionFactory();
  }
}
