package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// env is the data source probe_env: what of the caller's environment reached the provider's process.
type env struct{}

// envModel has the names in Values that are set, with their values, in Env.
type envModel struct {
	Values []string          `tfsdk:"values"`
	Names  []string          `tfsdk:"names"`
	Env    map[string]string `tfsdk:"env"`
}

func (env) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "probe_env"
}

func (env) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"values": schema.ListAttribute{
			ElementType: types.StringType, Optional: true,
			Description: "names of variables whose values are wanted",
		},
		"names": schema.ListAttribute{
			ElementType: types.StringType, Computed: true,
			Description: "the names of all variables of the provider's process, sorted",
		},
		"env": schema.MapAttribute{
			ElementType: types.StringType, Computed: true,
			Description: "the values of those variables in `values` that are set",
		},
	}}
}

func (env) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model envModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		model.Names = append(model.Names, name)
	}
	slices.Sort(model.Names)
	model.Env = map[string]string{}
	for _, name := range model.Values {
		if value, ok := os.LookupEnv(name); ok {
			model.Env[name] = value
		}
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
}
