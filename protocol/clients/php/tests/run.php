<?php
// Tests of the client, tags and the object cache at MXKV_PORT of 127.0.0.1, which they empty. Prints a line for each test.

declare(strict_types=1);

error_reporting(E_ALL);
set_error_handler(fn ($level, $text, $file, $line) => error_reporting() & $level ? throw new ErrorException($text, 0, $level, $file, $line) : false);

require __DIR__ . '/../src/Client.php';
require __DIR__ . '/../src/TaggedCache.php';
define('MXKV_SERVER', '127.0.0.1:' . getenv('MXKV_PORT'));
define('WP_CACHE_KEY_SALT', 'a:site');
$blogs = false;
function is_multisite(): bool
{
    return $GLOBALS['blogs'];
}
function get_current_blog_id(): int
{
    return 1;
}
require __DIR__ . '/../wordpress/object-cache.php';

function same(mixed $expected, mixed $found): void
{
    if ($expected !== $found) {
        throw new RuntimeException(var_export($found, true) . ' is not ' . var_export($expected, true));
    }
}

function fails(string $kind, callable $call): void
{
    try {
        $call();
    } catch (Mxkv\Error $error) {
        same($kind, $error::class);
        return;
    }
    throw new RuntimeException("no $kind");
}

$client = new Mxkv\Client(MXKV_SERVER, 60, 60);
$port = (int) getenv('MXKV_PORT');

$tests = [
    'single keys of any bytes' => function () use ($client): void {
        foreach (['k', "b \0\r\n\xff", str_repeat('x', 300)] as $key) {
            same(null, $client->get($key));
            same(false, $client->set($key, 'v', 0, 'replace'));
            same([true, false, true], [$client->set($key, "\r\nEND\r\n", 100, 'add'), $client->set($key, 'v', 0, 'add'), $client->set($key, '5', 0, 'replace')]);
            same([7, 4, 0], [$client->increment($key, 2), $client->increment($key, -3), $client->increment($key, -9)]);
            same([true, false], [$client->delete($key), $client->delete($key)]);
        }
        same(null, $client->increment('absent', 1));
        $client->set('far', 'v', 90 * 24 * 3600);
        same('v', $client->get('far'));
    },
    'many keys, and large values' => function () use ($client): void {
        $keys = array_map(fn ($number) => "many:$number", range(1, 1200));
        foreach ($keys as $key) {
            $client->set($key, str_repeat($key, 100));
        }
        same(1200, count($client->getMany([...$keys, 'absent'])));
        same(str_repeat('many:7', 100), $client->getMany($keys)['many:7']);
        same(1200, iterator_count((fn () => yield from $client->keys('many:'))()));
        same(1200, $client->deleteMany([...$keys, 'absent']));
        $client->set('large', str_repeat('x', 900000));
        same(900000, strlen($client->get('large')));
    },
    'a prefix is deleted, and nothing else' => function () use ($client): void {
        foreach (["a:1", "a:2", "a:\0", "a", "b:1"] as $key) {
            $client->set($key, 'v');
        }
        same(["a:\0", 'a:1', 'a:2'], iterator_to_array($client->keys('a:'), false));
        same(3, $client->deletePrefix('a:'));
        same(['a' => 'v', 'b:1' => 'v'], $client->getMany(['a', 'a:1', 'b:1']));
        fails(Mxkv\Error::class, fn () => $client->deletePrefix(''));
        fails(Mxkv\Error::class, fn () => $client->deletePrefix(str_repeat('x', 218)));
    },
    'errors have types, and replies stay in step' => function () use ($client): void {
        $client->set('text', 'x');
        fails(Mxkv\Refused::class, fn () => $client->increment('text', 1));
        fails(Mxkv\Refused::class, fn () => $client->set('text', str_repeat('x', 2 << 20)));
        same(null, $client->get('text'));
        fails(Mxkv\ConnectionLost::class, fn () => (new Mxkv\Client('127.0.0.1:1'))->get('k'));
        $silent = stream_socket_server('tcp://127.0.0.1:0');
        fails(Mxkv\ConnectionLost::class, fn () => (new Mxkv\Client(stream_socket_get_name($silent, false), 1, 0.05))->get('k'));
    },
    'an item is found by its tags in their order' => function () use ($client): void {
        $cache = new Mxkv\TaggedCache($client, 'site:');
        foreach ([7, -7, '7', null, 1.5, ['a' => [true]], ''] as $value) {
            $cache->tags(['people', 'authors'])->put('k', $value);
            same($value, $cache->tags(['people', 'authors'])->get('k', 'none'));
        }
        same('none', $cache->tags(['authors', 'people'])->get('k', 'none'));
        same('none', $cache->get('k', 'none'));
        same([true, false], [$cache->add('k', 1), $cache->add('k', 2)]);
        same([3, 1, 5], [$cache->increment('k', 2), $cache->decrement('k', 2), $cache->increment('new', 5)]);
        same([1, false], [$cache->pull('k'), $cache->has('k')]);
        same([9, 9], [$cache->remember('r', 100, fn () => 9), $cache->remember('r', 100, fn () => throw new Exception())]);
        $cache->put('r', 1, 0);
        same(false, $cache->has('r'));
    },
    'flushing any tag forgets its items, and no others' => function () use ($client): void {
        $cache = new Mxkv\TaggedCache($client, 'site:');
        $stored = [['people', 'artists'], ['people', 'authors'], ['authors'], ['people'], ['a|b', 'authors', 'x:y'], ['author'], []];
        foreach ([['authors', [0, 3, 5, 6]], ['people', [2, 4, 5, 6]], ['x:y', [0, 1, 2, 3, 5, 6]], ['artists', [1, 2, 3, 4, 5, 6]], ['none', [0, 1, 2, 3, 4, 5, 6]]] as [$tag, $left]) {
            foreach ($stored as $tags) {
                $cache->tags($tags)->put('k', 1);
            }
            $cache->tags($tag)->flush();
            same($left, array_keys(array_filter($stored, fn ($tags) => $cache->tags($tags)->has('k'))));
        }
        (new Mxkv\TaggedCache($client, 'other:'))->put('k', 1);
        $cache->flush();
        same(['other:v::k'], iterator_to_array($client->keys('o'), false));
        same([], iterator_to_array($client->keys('site:'), false));
    },
    'WordPress: values keep their types for the next request' => function (): void {
        foreach ([0, -3, '3', null, false, true, 1.5, ['a' => 1], (object) ['b' => 2]] as $value) {
            $cache = new WP_Object_Cache();
            same(true, $cache->set('k', $value, 'types'));
            $next = new WP_Object_Cache();
            same(serialize($value), serialize($next->get('k', 'types', false, $found)));
            same([true, 1, 0], [$found, $next->cache_hits, $next->cache_misses]);
        }
        same([false, false], [$next->get('absent', 'types', false, $found), $found]);
        same(['k' => 2, 'absent' => false, 7 => false], array_map(fn ($value) => $value->b ?? $value, (new WP_Object_Cache())->get_multiple(['k', 'absent', 7], 'types')));
    },
    'WordPress: a value is another request\'s unless it was read before' => function (): void {
        [$one, $other] = [new WP_Object_Cache(), new WP_Object_Cache()];
        $one->set('k', 1);
        same([1, false, true], [$other->get('k'), $other->add('k', 2), $other->replace('k', 2)]);
        same([1, 2], [$one->get('k'), $one->get('k', '', true)]);
        same([5, 4, 0, false], [$one->incr('k', 3), $one->decr('k'), $one->decr('k', 9), $one->incr('absent')]);
        same([true, false], [$one->delete('k'), $one->delete('k')]);
        same([2, false], [$other->get('k'), $other->get('k', '', true)]);
        $one->add_non_persistent_groups('local');
        $one->set('k', 1, 'local');
        same([1, 3], [$one->get('k', 'local'), $one->incr('k', 2, 'local')]);
        same(false, $other->get('k', 'local'));
        same(false, $one->set('', 1));
    },
    'WordPress: a group is one range, of all blogs' => function () use ($client): void {
        $GLOBALS['blogs'] = true;
        [$cache, $next] = [new WP_Object_Cache(), new WP_Object_Cache()];
        $cache->add_global_groups(['users']);
        foreach ([1, 2] as $blog) {
            $cache->switch_to_blog($blog);
            foreach (['posts', 'posts2', 'po:sts', 'users'] as $group) {
                $cache->set('k', $blog, $group);
            }
        }
        same([2, 2], [$cache->get('k', 'posts'), $cache->get('k', 'users')]);
        $cache->switch_to_blog(1);
        same([1, 2], [$cache->get('k', 'posts'), $cache->get('k', 'users')]);
        same(1, $next->get('k', 'posts'));
        same(true, $cache->flush_group('posts'));
        same([false, 1], [$cache->get('k', 'posts'), $cache->get('k', 'posts2')]);
        same(5, iterator_count((fn () => yield from $client->keys('a%3Asite:'))()));
        $client->set('elsewhere', 'v');
        same(true, $cache->flush());
        same(['elsewhere'], iterator_to_array($client->keys('e'), false));
        same(0, iterator_count((fn () => yield from $client->keys('a%3Asite:'))()));
        $GLOBALS['blogs'] = false;
    },
    'WordPress: without a server it goes on for the request' => function (): void {
        $cache = new WP_Object_Cache();
        (new ReflectionProperty($cache, 'client'))->setValue($cache, new Mxkv\Client('127.0.0.1:1'));
        same([true, 1, false, true], [$cache->set('k', 1), $cache->get('k'), $cache->add('k', 2), $cache->replace('k', 3)]);
        same([5, true, false, true], [$cache->incr('k', 2), $cache->delete('k'), $cache->get('k'), $cache->flush_group('default')]);
        same(Mxkv\ConnectionLost::class, $cache->error::class);
    },
];

foreach ($tests as $name => $test) {
    foreach (['a', 'b', 'e', 'f', 'k', 'l', 'm', 'n', 'o', 's', 't', 'x'] as $letter) {
        $client->deletePrefix($letter);
    }
    $test();
    echo "passed: $name\n";
}
