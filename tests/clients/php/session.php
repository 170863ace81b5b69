<?php
// A page that counts its visits in a session. Run once a visit, by a web server or by hand: php session.php ID
declare(strict_types=1);

if (isset($argv[1])) {
    session_id($argv[1]);
}
if (!session_start()) {
    exit(1);
}
$_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
$_SESSION['basket'][] = ['bytes' => "\0\r\n", 'number' => $_SESSION['visits']];
echo $_SESSION['visits'], ' ', count($_SESSION['basket']), "\n";
if (($argv[2] ?? '') === 'leave') {
    session_destroy();
}
