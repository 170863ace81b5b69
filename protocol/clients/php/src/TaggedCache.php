<?php
// A cache with tags, as Laravel's: an item is stored under one or more tags, and flushing any of them forgets it.

declare(strict_types=1);

namespace Mxkv;

require_once __DIR__ . '/Client.php';

/**
 * As with Laravel, an item is found by the tags, in the order, that it was stored with; without tags by its key alone.
 *
 *     v:<tag>|<tag>|:<key>        the item, so that all items of a first tag are one range
 *     i:<tag>|<tag>|<tag>|:<key>  for each further tag: that tag, and the item behind it
 *
 * flush() deletes the range of the first tag by one command. Items that have the tag in another place are found by the index. An index
 * entry has the time to live of its item. It may outlive an item that was forgotten or evicted, and does no harm then.
 */
final class TaggedCache
{
    /** @param list<string> $tags */
    public function __construct(private Client $client, private string $prefix = '', private array $tags = [])
    {
    }

    /** @param list<string>|string $tags */
    public function tags(array|string $tags): self
    {
        return new self($this->client, $this->prefix, array_values((array) $tags));
    }

    public function get(string $key, mixed $default = null): mixed
    {
        $found = $this->client->get($this->name($key));
        return $found === null ? $default : self::unpack($found);
    }

    public function has(string $key): bool
    {
        return $this->client->get($this->name($key)) !== null;
    }

    /** @param int|null $seconds null is for ever; 0 and less forget the item */
    public function put(string $key, mixed $value, ?int $seconds = null): bool
    {
        if ($seconds !== null && $seconds <= 0) {
            return $this->forget($key);
        }
        $this->index($key, $seconds ?? 0);
        return $this->client->set($this->name($key), self::pack($value), $seconds ?? 0);
    }

    public function add(string $key, mixed $value, ?int $seconds = null): bool
    {
        if ($seconds !== null && $seconds <= 0) {
            return false;
        }
        $this->index($key, $seconds ?? 0);
        return $this->client->set($this->name($key), self::pack($value), $seconds ?? 0, 'add');
    }

    public function forever(string $key, mixed $value): bool
    {
        return $this->put($key, $value);
    }

    public function forget(string $key): bool
    {
        return $this->client->delete($this->name($key));
    }

    public function pull(string $key, mixed $default = null): mixed
    {
        $found = $this->get($key, $default);
        $this->forget($key);
        return $found;
    }

    public function remember(string $key, ?int $seconds, callable $make): mixed
    {
        $found = $this->client->get($this->name($key));
        if ($found !== null) {
            return self::unpack($found);
        }
        $made = $make();
        $this->put($key, $made, $seconds);
        return $made;
    }

    /** The new number. A missing item becomes `$by`. */
    public function increment(string $key, int $by = 1): int
    {
        do {
            $found = $this->client->increment($this->name($key), $by);
        } while ($found === null && !$this->add($key, $by));
        return $found ?? $by;
    }

    public function decrement(string $key, int $by = 1): int
    {
        return $this->increment($key, -$by);
    }

    /** Forgets all items that have one of the tags; without tags all items of this prefix. */
    public function flush(): bool
    {
        if ($this->tags === []) {
            $this->client->deletePrefix($this->prefix . 'v:');
            $this->client->deletePrefix($this->prefix . 'i:');
        }
        foreach ($this->tags as $tag) {
            $this->client->deletePrefix($this->prefix . 'v:' . self::word($tag));
            $index = $this->prefix . 'i:' . self::word($tag);
            $names = [];
            foreach ($this->client->keys($index) as $entry) {
                $names[] = $this->prefix . 'v:' . substr($entry, strlen($index));
            }
            if ($names !== []) {
                $this->client->deleteMany($names);
                $this->client->deleteMany(array_map(fn ($name) => $index . substr($name, strlen($this->prefix) + 2), $names));
            }
        }
        return true;
    }

    /** The index comes before the item, so that there is never an item that a flush of its tags does not find. */
    private function index(string $key, int $seconds): void
    {
        foreach (array_unique(array_slice($this->tags, 1)) as $tag) {
            $entry = $this->prefix . 'i:' . self::word($tag) . $this->rest($key);
            if (strlen($entry) > 250) {
                throw new Error('tags and key are too long for an index: they must have 250 bytes at most');
            }
            $this->client->set($entry, '', $seconds);
        }
    }

    private function name(string $key): string
    {
        return $this->prefix . 'v:' . $this->rest($key);
    }

    private function rest(string $key): string
    {
        return implode('', array_map(self::word(...), $this->tags)) . ":$key";
    }

    private static function word(string $tag): string
    {
        return rawurlencode($tag) . '|';
    }

    private static function pack(mixed $value): string
    {
        return is_int($value) ? (string) $value : serialize($value);
    }

    private static function unpack(string $data): mixed
    {
        return preg_match('/^-?\d+$/', $data) ? (int) $data : unserialize($data);
    }
}
