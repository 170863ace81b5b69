<?php
// The errors of the client. The server refused a request (Refused), or the connection ended (ConnectionLost).

declare(strict_types=1);

namespace Mxkv;

class Error extends \RuntimeException
{
}

class Refused extends Error
{
}

class ConnectionLost extends Error
{
}
