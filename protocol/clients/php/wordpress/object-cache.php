<?php
/**
 * Plugin Name: mxkv object cache
 * Description: Keeps WordPress' objects in mxkv. Flushing a group deletes one range of keys.
 *
 * Copy to wp-content/object-cache.php, and the folder src/ to wp-content/mxkv/. wp-config.php may define:
 *
 *     MXKV_SERVER         "127.0.0.1:11211" by default, or "unix:/path"
 *     WP_CACHE_KEY_SALT   before all keys, so that several sites share a server
 *
 * A key is <salt>:<group>:<blog>:<key>. If the server is not there, WordPress goes on with a cache for one request.
 */

declare(strict_types=1);

foreach ([__DIR__ . '/mxkv/Client.php', dirname(__DIR__) . '/src/Client.php'] as $mxkv_client) {
    if (is_file($mxkv_client)) {
        require_once $mxkv_client;
        break;
    }
}

class WP_Object_Cache
{
    public int $cache_hits = 0;
    public int $cache_misses = 0;
    /** The last error of the server, which ended its use for this request; null while it is used. */
    public ?Mxkv\Error $error = null;

    private Mxkv\Client $client;
    private string $salt;
    private int $blog;
    private bool $multisite;
    /** @var array<string, mixed> what this request has read or written, by the whole key */
    private array $local = [];
    /** @var array<string, true> */
    private array $global_groups = [];
    /** @var array<string, true> */
    private array $local_groups = [];

    public function __construct()
    {
        $this->client = new Mxkv\Client(defined('MXKV_SERVER') ? MXKV_SERVER : '127.0.0.1:11211');
        $this->salt = rawurlencode(defined('WP_CACHE_KEY_SALT') ? WP_CACHE_KEY_SALT : 'wp') . ':';
        $this->multisite = function_exists('is_multisite') && is_multisite();
        $this->blog = $this->multisite ? (int) get_current_blog_id() : 0;
    }

    public function add($key, $data, $group = 'default', $expire = 0): bool
    {
        if (function_exists('wp_suspend_cache_addition') && wp_suspend_cache_addition()) {
            return false;
        }
        return $this->store('add', $key, $data, $group, $expire);
    }

    public function replace($key, $data, $group = 'default', $expire = 0): bool
    {
        return $this->store('replace', $key, $data, $group, $expire);
    }

    public function set($key, $data, $group = 'default', $expire = 0): bool
    {
        return $this->store('set', $key, $data, $group, $expire);
    }

    public function get($key, $group = 'default', $force = false, &$found = null): mixed
    {
        $name = $this->name($key, $group);
        if ($name !== null && ($force && $this->is_kept($group) || !array_key_exists($name, $this->local))) {
            $this->fetch([$name], $group);
        }
        $found = $name !== null && array_key_exists($name, $this->local);
        $found ? ++$this->cache_hits : ++$this->cache_misses;
        return $found ? self::copy($this->local[$name]) : false;
    }

    public function get_multiple($keys, $group = 'default', $force = false): array
    {
        $names = array_filter(array_map(fn ($key) => $this->name($key, $group), $keys), fn ($name) => $name !== null);
        $this->fetch($force ? $names : array_filter($names, fn ($name) => !array_key_exists($name, $this->local)), $group);
        $values = [];
        foreach ($keys as $key) {
            $values[$key] = $this->get($key, $group);
        }
        return $values;
    }

    public function delete($key, $group = 'default'): bool
    {
        $name = $this->name($key, $group);
        if ($name === null) {
            return false;
        }
        $there = array_key_exists($name, $this->local);
        unset($this->local[$name]);
        return $this->is_kept($group) ? $this->ask(fn () => $this->client->delete($name), $there) : $there;
    }

    public function incr($key, $offset = 1, $group = 'default'): int|false
    {
        $name = $this->name($key, $group);
        if ($name === null) {
            return false;
        }
        if ($this->is_kept($group)) {
            $number = $this->ask(fn () => $this->client->increment($name, (int) $offset), null);
        }
        if (!$this->is_kept($group)) { // or the server has just failed
            $number = array_key_exists($name, $this->local) ? max(0, (is_numeric($this->local[$name]) ? (int) $this->local[$name] : 0) + (int) $offset) : null;
        }
        if ($number === null) {
            return false;
        }
        return $this->local[$name] = $number;
    }

    public function decr($key, $offset = 1, $group = 'default'): int|false
    {
        return $this->incr($key, -(int) $offset, $group);
    }

    public function flush(): bool
    {
        $this->local = [];
        return $this->ask(fn () => $this->client->deletePrefix($this->salt) >= 0, true);
    }

    /** Deletes all keys of a group, of all blogs, as one range. */
    public function flush_group($group): bool
    {
        $beginning = $this->beginning($group);
        $this->local = array_filter($this->local, fn ($name) => !str_starts_with($name, $beginning), ARRAY_FILTER_USE_KEY);
        return $this->is_kept($group) ? $this->ask(fn () => $this->client->deletePrefix($beginning) >= 0, true) : true;
    }

    /** Forgets what this request has read or written; the server keeps it. */
    public function flush_runtime(): bool
    {
        $this->local = [];
        return true;
    }

    public function add_global_groups($groups): void
    {
        $this->global_groups += array_fill_keys((array) $groups, true);
    }

    public function add_non_persistent_groups($groups): void
    {
        $this->local_groups += array_fill_keys((array) $groups, true);
    }

    public function switch_to_blog($blog_id): void
    {
        $this->blog = $this->multisite ? (int) $blog_id : 0;
    }

    public function close(): bool
    {
        $this->client->close();
        return true;
    }

    public function stats(): void
    {
        echo '<p><strong>Cache Hits:</strong> ', $this->cache_hits, '<br /><strong>Cache Misses:</strong> ', $this->cache_misses, '</p>';
    }

    private function store(string $how, $key, $data, $group, $expire): bool
    {
        $name = $this->name($key, $group);
        if ($name === null) {
            return false;
        }
        $data = self::copy($data);
        $stored = null;
        if ($this->is_kept($group)) {
            $seconds = max(0, (int) $expire);
            $stored = $this->ask(fn () => $this->client->set($name, self::pack($data), $seconds, $how), null);
        }
        $there = array_key_exists($name, $this->local);
        if ($stored ?? ($how === 'set' || ($how === 'replace') === $there)) {
            $this->local[$name] = $data;
            return true;
        }
        return false;
    }

    /** Reads keys from the server to this request's own. */
    private function fetch(array $names, $group): void
    {
        if ($names === [] || !$this->is_kept($group)) {
            return;
        }
        $found = $this->ask(fn () => $this->client->getMany(array_values($names)), []);
        foreach ($names as $name) {
            unset($this->local[$name]);
            if (isset($found[$name])) {
                $this->local[$name] = self::unpack($found[$name]);
            }
        }
    }

    /** Asks the server, unless it failed before in this request. A refusal, such as of too large a value, is no failure. */
    private function ask(callable $request, mixed $otherwise): mixed
    {
        if ($this->error !== null) {
            return $otherwise;
        }
        try {
            return $request();
        } catch (Mxkv\Refused) {
            return false;
        } catch (Mxkv\Error $error) {
            $this->error = $error;
            return $otherwise;
        }
    }

    private function is_kept($group): bool
    {
        return $this->error === null && !isset($this->local_groups[$group ?: 'default']);
    }

    /** The whole key; null if it is none. */
    private function name($key, $group): ?string
    {
        if (!is_int($key) && (!is_string($key) || trim($key) === '')) {
            return null;
        }
        $blog = isset($this->global_groups[$group ?: 'default']) ? 0 : $this->blog;
        return $this->beginning($group) . "$blog:$key";
    }

    private function beginning($group): string
    {
        return $this->salt . rawurlencode($group ?: 'default') . ':';
    }

    private static function copy(mixed $data): mixed
    {
        return is_object($data) ? clone $data : $data;
    }

    private static function pack(mixed $data): string
    {
        return is_int($data) ? (string) $data : serialize($data);
    }

    private static function unpack(string $data): mixed
    {
        return preg_match('/^-?\d+$/', $data) ? (int) $data : unserialize($data);
    }
}

function wp_cache_init(): void
{
    $GLOBALS['wp_object_cache'] = new WP_Object_Cache();
}

function wp_cache_supports($feature): bool
{
    return in_array($feature, ['get_multiple', 'flush_runtime', 'flush_group'], true);
}

function wp_cache_add($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->add($key, $data, $group, $expire);
}

function wp_cache_replace($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->replace($key, $data, $group, $expire);
}

function wp_cache_set($key, $data, $group = '', $expire = 0)
{
    return $GLOBALS['wp_object_cache']->set($key, $data, $group, $expire);
}

function wp_cache_get($key, $group = '', $force = false, &$found = null)
{
    return $GLOBALS['wp_object_cache']->get($key, $group, $force, $found);
}

function wp_cache_get_multiple($keys, $group = '', $force = false)
{
    return $GLOBALS['wp_object_cache']->get_multiple($keys, $group, $force);
}

function wp_cache_delete($key, $group = '')
{
    return $GLOBALS['wp_object_cache']->delete($key, $group);
}

function wp_cache_incr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->incr($key, $offset, $group);
}

function wp_cache_decr($key, $offset = 1, $group = '')
{
    return $GLOBALS['wp_object_cache']->decr($key, $offset, $group);
}

function wp_cache_flush()
{
    return $GLOBALS['wp_object_cache']->flush();
}

function wp_cache_flush_group($group)
{
    return $GLOBALS['wp_object_cache']->flush_group($group);
}

function wp_cache_flush_runtime()
{
    return $GLOBALS['wp_object_cache']->flush_runtime();
}

function wp_cache_close()
{
    return $GLOBALS['wp_object_cache']->close();
}

function wp_cache_add_global_groups($groups): void
{
    $GLOBALS['wp_object_cache']->add_global_groups($groups);
}

function wp_cache_add_non_persistent_groups($groups): void
{
    $GLOBALS['wp_object_cache']->add_non_persistent_groups($groups);
}

function wp_cache_switch_to_blog($blog_id): void
{
    $GLOBALS['wp_object_cache']->switch_to_blog($blog_id);
}
