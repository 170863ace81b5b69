# Dalli as it comes, by the binary protocol, at MXKV_PORT. Users are asked for at MXKV_LOGIN_PORT, at MXKV_TLS_PORT and, with a certificate,
# at MXKV_MUTUAL_TLS_PORT. MXKV_CERTIFICATES is a folder: ca.pem signed all, ann.pem and ann.key are Ann's.
require 'dalli'
require 'minitest/autorun'

class DalliTest < Minitest::Test
  def address(port)
    "127.0.0.1:#{ENV.fetch(port)}"
  end

  def setup
    @client = Dalli::Client.new(address('MXKV_PORT'), socket_timeout: 20)
    @client.flush
  end

  def teardown
    @client.close
  end

  def test_storage_verbs
    assert @client.set('k', 'v')
    assert_equal 'v', @client.get('k')
    refute @client.add('k', 'w')
    assert @client.add('new', 'n')
    assert @client.replace('k', 'w')
    assert_equal 0, @client.replace('absent', 'w') # no unique: it was not stored
    assert @client.delete('k')
    refute @client.delete('k')
    assert_nil @client.get('k')
  end

  def test_objects_keep_their_types
    [1, 1.5, nil, "text\r\nEND\r\n", :symbol, { 'a' => [1, nil] }, 'x' * 900_000].each do |value|
      @client.set('object', value)
      value.nil? ? assert_nil(@client.get('object')) : assert_equal(value, @client.get('object'))
    end
  end

  def test_many_at_once
    wanted = (0...500).to_h { |number| ["many#{number}", number] }
    @client.multi { wanted.each { |key, value| @client.set(key, value) } }
    assert_equal wanted, @client.get_multi(*wanted.keys, 'absent')
    assert_equal 500, @client.get_multi_cas(*wanted.keys).size
  end

  def test_joins
    @client.set('k', 'middle', nil, raw: true)
    assert @client.append('k', '>')
    assert @client.prepend('k', '<')
    assert_equal '<middle>', @client.get('k', raw: true)
  end

  def test_counters
    assert_equal 10, @client.incr('n', 5, 0, 10)
    assert_equal 15, @client.incr('n', 5)
    assert_equal 12, @client.decr('n', 3)
    assert_equal 0, @client.decr('n', 100)
    assert_nil @client.incr('absent', 1)
  end

  def test_compare_and_swap
    @client.set('k', 1)
    assert @client.cas('k') { |value| value + 1 }
    refute @client.cas('k') { |value| @client.set('k', 77) && value + 1 }
    assert_equal 77, @client.get('k')
    value, unique = @client.get_cas('k')
    assert_equal 77, value
    assert @client.set_cas('k', 78, unique)
    refute @client.delete_cas('k', unique)
  end

  def test_lifetimes
    @client.set('short', 'v', 1)
    @client.set('kept', 'v', 1)
    assert @client.touch('kept', 1000)
    assert_equal 'v', @client.gat('kept', 1000)
    400.times { @client.get('short').nil? ? break : sleep(0.05) }
    assert_nil @client.get('short')
    assert_equal 'v', @client.get('kept')
    assert_equal 'made', @client.fetch('made', 10) { 'made' }
  end

  def test_statistics
    assert @client.stats.values.first.key?('curr_items')
    assert @client.stats(:settings).values.first.key?('maxconns')
    assert @client.reset_stats
    assert_match(/^\d+\.\d+\.\d+/, @client.version.values.first)
  end

  def comes_in(port, **options)
    user = Dalli::Client.new(address(port), username: 'ann', password: 'secret word', socket_timeout: 20, **options)
    assert user.set('k', 'x' * 900_000, nil, raw: true)
    assert_equal 900_000, user.get('k', raw: true).size
    user.multi { 100.times { |number| user.set("many#{number}", number) } } # quiet; get_multi of Dalli 3.0 knows no TLS
    assert_equal 99, user.get('many99')
  end

  def refused(port, **options)
    assert_raises(Dalli::DalliError, OpenSSL::SSL::SSLError) { Dalli::Client.new(address(port), **options).set('k', 'w') }
  end

  def trusting(shown = {})
    made = OpenSSL::SSL::SSLContext.new
    made.set_params(ca_file: File.join(ENV.fetch('MXKV_CERTIFICATES'), 'ca.pem'), verify_mode: OpenSSL::SSL::VERIFY_PEER, **shown)
    made
  end

  def test_a_user_comes_in_and_others_do_not
    comes_in 'MXKV_LOGIN_PORT'
    refused 'MXKV_LOGIN_PORT', username: 'ann', password: 'wrong'
    refused 'MXKV_LOGIN_PORT'
  end

  def test_tls
    comes_in 'MXKV_TLS_PORT', ssl_context: trusting
    refused 'MXKV_TLS_PORT', username: 'ann', password: 'wrong', ssl_context: trusting
    distrusting = OpenSSL::SSL::SSLContext.new
    distrusting.set_params
    refused 'MXKV_TLS_PORT', username: 'ann', password: 'secret word', ssl_context: distrusting
  end

  def test_mutual_tls
    shown = { cert: OpenSSL::X509::Certificate.new(File.read(File.join(ENV.fetch('MXKV_CERTIFICATES'), 'ann.pem'))),
              key: OpenSSL::PKey.read(File.read(File.join(ENV.fetch('MXKV_CERTIFICATES'), 'ann.key'))) }
    comes_in 'MXKV_MUTUAL_TLS_PORT', ssl_context: trusting(shown)
    refused 'MXKV_MUTUAL_TLS_PORT', username: 'ann', password: 'secret word', ssl_context: trusting
  end
end
