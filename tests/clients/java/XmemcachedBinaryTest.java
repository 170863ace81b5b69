import net.rubyeye.xmemcached.CommandFactory;
import net.rubyeye.xmemcached.command.BinaryCommandFactory;

/** The same by the binary protocol. */
class XmemcachedBinaryTest extends XmemcachedTest {
  @Override
  CommandFactory commands() {
    return new BinaryCommandFactory();
  }
}
