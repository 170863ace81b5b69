<?php
// php-memcached at MXKV_PORT, by the protocol of MXKV_PROTOCOL. Prints a line for each test; throws where one fails.
declare(strict_types=1);

$port = (int) getenv('MXKV_PORT');
$client = new Memcached();
$client->setOption(Memcached::OPT_BINARY_PROTOCOL, getenv('MXKV_PROTOCOL') === 'binary');
$client->addServer('127.0.0.1', $port);

function expect(bool $holds, string $what): void
{
    global $client;
    if (!$holds) {
        throw new RuntimeException("$what: " . $client->getResultMessage());
    }
}

function passed(string $name): void
{
    global $client;
    echo "passed: $name\n";
    $client->flush();
}

expect($client->set('k', 'v') && $client->get('k') === 'v', 'set, get');
expect(!$client->add('k', 'w') && $client->add('new', 'n'), 'add');
expect($client->replace('k', 'w') && !$client->replace('absent', 'w'), 'replace');
expect($client->delete('k') && !$client->delete('k') && $client->get('k') === false, 'delete');
expect($client->getResultCode() === Memcached::RES_NOTFOUND, 'not found');
passed('storage verbs');

$client->setOption(Memcached::OPT_COMPRESSION, false);
$client->set('k', 'middle');
expect($client->append('k', '>') && $client->prepend('k', '<') && $client->get('k') === '<middle>', 'joined');
passed('append and prepend');

foreach ([1, 1.5, true, "text\r\nEND\r\n\0", ['a' => [1, null]], str_repeat('x', 900000)] as $value) {
    expect($client->set('object', $value) && $client->get('object') === $value, 'a value keeps its type');
}
passed('objects');

$many = [];
for ($number = 0; $number < 500; ++$number) {
    $many["many$number"] = "value $number";
}
expect($client->setMulti($many), 'setMulti');
$found = $client->getMulti([...array_keys($many), 'absent']);
ksort($found);
ksort($many);
expect($found === $many, 'getMulti');
passed('many');

$client->set('n', 10);
expect($client->increment('n', 5) === 15 && $client->decrement('n', 3) === 12 && $client->decrement('n', 100) === 0, 'counters');
if (getenv('MXKV_PROTOCOL') === 'binary') {
    expect($client->increment('made', 5, 77) === 77 && $client->increment('made', 5, 77) === 82, 'a counter is made');
}
passed('counters');

$client->set('k', 'first');
$seen = $client->get('k', null, Memcached::GET_EXTENDED);
expect($client->cas($seen['cas'], 'k', 'second') && !$client->cas($seen['cas'], 'k', 'third'), 'cas');
expect($client->get('k') === 'second', 'of two one');
passed('cas');

$client->set('short', 'v', 1);
$client->set('kept', 'v', 1);
expect($client->touch('kept', 1000), 'touch');
for ($tries = 0; $client->get('short') !== false; ++$tries) {
    expect($tries < 400, 'the short-lived key is gone');
    usleep(50000);
}
expect($client->get('kept') === 'v', 'the touched key is there');
passed('lifetimes');

$stats = $client->getStats();
expect(isset($stats["127.0.0.1:$port"]['curr_items']), 'statistics');
expect(preg_match('/^\d+\.\d+\.\d+/', current($client->getVersion())) === 1, 'version');
passed('statistics');
