// Command terraform-provider-probe is a provider for tests, example.test/captf/probe. It makes real
// files, so that drift, slow operations, stop requests, failures and leaked values can be
// seen through the runtimes themselves.
//
// If the variable PROBE_LEDGER names a file, every file made, changed or removed appends one line to
// it: "create PATH", "update PATH" or "delete PATH". A test compares those lines with the state, to
// find what was made and then forgotten, or made twice. If PROBE_GATES names a folder, a test can stop a call
// at a certain point, see hold.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return probe{} },
		providerserver.ServeOpts{Address: "example.test/captf/probe", ProtocolVersion: 6})
	if err != nil {
		log.Fatal(err)
	}
}

// probe is the provider. It has no configuration.
type probe struct{}

func (probe) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "probe"
	resp.Version = "0.1.0"
}

func (probe) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (probe) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (probe) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return file{} }}
}

func (probe) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return env{} }}
}
