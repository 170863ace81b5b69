/**
 * Client of mxkv: memcached's commands, ranges over ordered keys, and atomic batches.
 *
 * <pre>{@code
 * try (MxkvClient client = MxkvClient.connect("localhost", 11211)) {
 *   for (Item item : client.scan(Range.prefix("user:"))) {
 *     System.out.println(item.key() + ": " + item.text());
 *   }
 * }
 * }</pre>
 */
package mxkv;
