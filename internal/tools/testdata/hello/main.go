// Command hello is built by the test of tools.Build.
package main

import "fmt"

func main() { fmt.Println("hello") }
