<?php
// A connection to mxkv: single keys, and deletes and scans of all keys with a prefix. One request at a time.

declare(strict_types=1);

namespace Mxkv;

require_once __DIR__ . '/errors.php';

/** Keys are any bytes. A key of more than 250 bytes keeps its first 217 and ends with a digest, so longer prefixes are refused. */
final class Client
{
    private const LONGEST_KEY = 250;
    private const LONGEST_PREFIX = 217;
    private const LONGEST_RELATIVE_S = 30 * 24 * 3600; // greater numbers are points in time
    private const AT_ONCE = 500; // requests that leave before the first reply is read

    /** @var resource|null */
    private $stream = null;

    /** @param string $server host:port, or unix:/path. Timeouts are in seconds. */
    public function __construct(private string $server = '127.0.0.1:11211', private float $connectTimeout = 1, private float $timeout = 3)
    {
    }

    public function get(string $key): ?string
    {
        return $this->getMany([$key])[$key] ?? null;
    }

    /**
     * @param list<string> $keys
     * @return array<string, string> the values of the keys that exist
     */
    public function getMany(array $keys): array
    {
        $found = [];
        foreach (array_chunk($keys, self::AT_ONCE) as $some) {
            $replies = $this->ask(array_map(fn ($key) => 'mg ' . self::word((string) $key) . ' v', $some));
            foreach ($some as $number => $key) {
                if ($replies[$number]['block'] !== null) {
                    $found[$key] = $replies[$number]['block'];
                }
            }
        }
        return $found;
    }

    /** Stores a value. `$mode` is set, add or replace. False if the key exists (add), or does not (replace). 0 seconds are for ever. */
    public function set(string $key, string $value, int $seconds = 0, string $mode = 'set'): bool
    {
        $flag = ['set' => '', 'add' => ' ME', 'replace' => ' MR'][$mode];
        if ($seconds > self::LONGEST_RELATIVE_S) {
            $seconds += time();
        }
        [$word, $base64] = explode(' ', self::word($key) . ' ');
        $line = "ms $word " . strlen($value) . ($base64 === '' ? '' : ' b') . ($seconds === 0 ? '' : " T$seconds") . $flag;
        return $this->ask(["$line\r\n$value"])[0]['words'][0] === 'HD';
    }

    public function delete(string $key): bool
    {
        return $this->deleteMany([$key]) === 1;
    }

    /** @param list<string> $keys */
    public function deleteMany(array $keys): int
    {
        $total = 0;
        foreach (array_chunk($keys, self::AT_ONCE) as $some) {
            $replies = $this->ask(array_map(fn ($key) => 'md ' . self::word((string) $key), $some));
            $total += count(array_filter($replies, fn ($reply) => $reply['words'][0] === 'HD'));
        }
        return $total;
    }

    /** The new number, or null if there is none. It does not fall below 0. */
    public function increment(string $key, int $delta): ?int
    {
        $reply = $this->ask(['ma ' . self::word($key) . ' D' . abs($delta) . ($delta < 0 ? ' MD' : '') . ' v'])[0];
        return $reply['block'] === null ? null : (int) $reply['block'];
    }

    /** Deletes all keys with a prefix, by one request for each page of keys, and returns their number. An empty prefix is refused. */
    public function deletePrefix(string $prefix): int
    {
        [$total, $cursor] = [0, ''];
        do {
            $words = $this->ask(['mx ' . self::prefix($prefix) . $cursor])[0]['words'];
            $total += (int) self::flag($words, 'A');
            $cursor = self::cursor($words);
        } while ($cursor !== '');
        return $total;
    }

    /** @return \Generator<string> the keys with a prefix, in order, a page at a time */
    public function keys(string $prefix): \Generator
    {
        $cursor = '';
        do {
            $this->send(['mr ' . self::prefix($prefix) . ' A1000' . $cursor]);
            $page = [];
            while (($words = $this->reply()['words'])[0] === 'HD') {
                $key = self::flag($words, 'k');
                $page[] = in_array('b', $words, true) ? base64_decode($key) : $key;
            }
            $cursor = self::cursor($words);
            yield from $page;
        } while ($cursor !== '');
    }

    public function close(): void
    {
        if ($this->stream !== null) {
            fclose($this->stream);
            $this->stream = null;
        }
    }

    /** The word for a key in a line, and the flag that says that it is base64. */
    private static function word(string $key): string
    {
        if (strlen($key) > self::LONGEST_KEY) {
            $key = substr($key, 0, self::LONGEST_PREFIX) . '#' . substr(hash('sha256', $key), 0, 32);
        }
        if ($key === '') {
            throw new Error('a key must not be empty');
        }
        return preg_match('/[\x00-\x20\x7f]/', $key) ? base64_encode($key) . ' b' : $key;
    }

    private static function prefix(string $prefix): string
    {
        if ($prefix === '' || strlen($prefix) > self::LONGEST_PREFIX) {
            throw new Error('a prefix must have 1 to ' . self::LONGEST_PREFIX . ' bytes');
        }
        return self::word($prefix) . ' p';
    }

    /** @param list<string> $words */
    private static function flag(array $words, string $letter): string
    {
        foreach (array_slice($words, 1) as $word) {
            if (str_starts_with($word, $letter)) {
                return substr($word, 1);
            }
        }
        return '';
    }

    /** @param list<string> $words */
    private static function cursor(array $words): string
    {
        $cursor = self::flag($words, 'G');
        return $cursor === '' ? '' : " G$cursor";
    }

    /**
     * @param list<string> $lines
     * @return list<array{words: list<string>, block: ?string}> a reply for each line
     */
    private function ask(array $lines): array
    {
        $this->send($lines);
        [$replies, $refusal] = [[], null];
        foreach ($lines as $ignored) {
            try {
                $replies[] = $this->reply();
            } catch (Refused $error) { // the replies behind it are read nevertheless
                $refusal = $error;
            }
        }
        return $refusal === null ? $replies : throw $refusal;
    }

    /** @param list<string> $lines */
    private function send(array $lines): void
    {
        if ($this->stream === null) {
            $place = str_starts_with($this->server, 'unix:') ? 'unix://' . substr($this->server, 5) : "tcp://$this->server";
            $stream = @stream_socket_client($place, $number, $text, $this->connectTimeout);
            if ($stream === false) {
                throw new ConnectionLost("no connection to $this->server: $text");
            }
            stream_set_timeout($stream, (int) $this->timeout, (int) (fmod($this->timeout, 1) * 1e6));
            $this->stream = $stream;
        }
        $data = implode("\r\n", $lines) . "\r\n";
        for ($sent = 0; $sent < strlen($data); $sent += $wrote) {
            $wrote = @fwrite($this->stream, substr($data, $sent));
            if (!$wrote) {
                throw $this->lost();
            }
        }
    }

    /** @return array{words: list<string>, block: ?string} */
    private function reply(): array
    {
        $line = @fgets($this->stream);
        if ($line === false || !str_ends_with($line, "\r\n")) {
            throw $this->lost();
        }
        $line = substr($line, 0, -2);
        $words = explode(' ', $line);
        if (in_array($words[0], ['ERROR', 'CLIENT_ERROR', 'SERVER_ERROR'], true)) {
            throw new Refused($line);
        }
        if ($words[0] !== 'VA') {
            return ['words' => $words, 'block' => null];
        }
        $size = (int) $words[1] + 2;
        $block = @stream_get_contents($this->stream, $size);
        if ($block === false || strlen($block) !== $size) {
            throw $this->lost();
        }
        return ['words' => $words, 'block' => substr($block, 0, -2)];
    }

    private function lost(): ConnectionLost
    {
        $timedOut = stream_get_meta_data($this->stream)['timed_out'];
        $this->close();
        return new ConnectionLost($timedOut ? 'no reply in time' : 'the server closed the connection');
    }
}
